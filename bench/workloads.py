"""What bench/run times: specs of the project at one shape each, with the ratios that are to be reached (the time of a peer
divided by modc's, on one core in float32)."""
import dataclasses
import re

import models
from environment import ROOT

TOLERANCE = 1e-4  # of every peer, relative to an output's largest value


@dataclasses.dataclass
class Workload:
    title: str
    spec: str
    sizes: dict
    targets: dict  # by peer; "best" is the fastest of all but modc
    entry: str = "forward"
    further: str = ""  # keys of the spec that only modc looks at
    constants: dict = dataclasses.field(default_factory=dict)  # instead of the spec's

    def model(self, folder):
        text = models.fixed((ROOT / self.spec).read_text(), self.sizes) + self.further
        for name, value in self.constants.items():
            text = re.sub(rf"\b{name}: \d+", f"{name}: {value}", text, count=1)
        name = re.sub(r"\W+", "_", self.title.lower())
        return models.Model(name, text, folder / name, self.entry)


ONE = {"batch": 1}
WORKLOADS = {
    "policy": Workload("policy MLP, batch 1", "specs/cartpole/policy.yaml", ONE, {"best": 2.2, "ONNX Runtime": 25}, "act"),
    "policy256": Workload("policy MLP, batch 256", "specs/cartpole/policy.yaml", {"batch": 256}, {"best": 1.4}, "act"),
    "digits": Workload("digits CNN", "specs/digits/cnn.yaml", ONE, {"best": 3}),
    "autoencoder": Workload("autoencoder", "specs/networks/autoencoder.yaml", ONE, {"best": 1.05, "ONNX Runtime": 1.9}),
    "resnet8": Workload("ResNet-8", "specs/networks/resnet8.yaml", ONE, {"best": 2}),
    "ds_cnn": Workload("DS-CNN", "specs/networks/ds_cnn.yaml", ONE, {"best": 1.3}),
    "mobilenet": Workload("MobileNetV1", "specs/networks/mobilenet_v1.yaml", ONE, {"best": 1.5}),
    "resnet18": Workload("ResNet-18", "specs/networks/resnet18.yaml", ONE, {"best": 1.7}),
    "bert": Workload("BERT, 128 tokens", "specs/networks/bert.yaml", {"batch": 1, "tokens": 128}, {"best": 1.15}),
    "gpt2": Workload("GPT-2 decode, 256 cached", "specs/networks/gpt2_step.yaml", {"past": 256}, {"best": 1.0}),
    "gpt2_bfloat16": Workload("GPT-2, bfloat16 weights", "specs/networks/gpt2_step.yaml", {"past": 256}, {"best": 1.8},
                              further="storage: bfloat16\n"),
    **{f"{kind}{width}{f'_{batch}' * (batch > 1)}":
       Workload(f"{kind.upper()} {width}, 32 steps, batch {batch}", spec, {"batch": batch, "steps": 32},
                {"ONNX Runtime": 1.4} if batch == 1 else {}, constants={"width": width})
       for kind, spec in (("lstm", "bench/lstm.yaml"), ("gru", "specs/networks/gru.yaml")) for width, batch in ((64, 1), (128, 1), (128, 16))},
    **{name: Workload(title, f"bench/zoo/{name}.yaml", ONE, {"best": 1.0})
       for name, title in (("alexnet", "AlexNet"), ("vgg11", "VGG-11"), ("wide_resnet50", "Wide ResNet-50-2"), ("vit_b16", "ViT-B/16"),
                           ("swin_v2_t", "Swin v2, tiny"), ("maxvit_t", "MaxViT, tiny"), ("densenet121", "DenseNet-121"),
                           ("efficientnet_b0", "EfficientNet-B0"))},
}
# Names of several: large networks, at batch 1.
GROUPS = {"zoo": [name for name, work in WORKLOADS.items() if "/zoo/" in work.spec]}
