"""The same training by Lightning's Trainer: `pip install lightning`. modc.Module wraps the model, not the LightningModule.

    python3 lightning_trainer.py
"""
import sys

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

import modc
from digits import BATCH, Digits, load, read_right


class Learner(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = modc.Module(Digits())

    def training_step(self, batch, index):
        images, labels = batch
        loss = torch.nn.functional.cross_entropy(self.net(images), labels)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
        return [optimizer], [torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.7)]


torch.manual_seed(0)
learner = Learner()
trainer = lightning.Trainer(max_epochs=4, accelerator="cpu", gradient_clip_val=5.0, logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False)
trainer.fit(learner, DataLoader(TensorDataset(*load("train")), batch_size=BATCH))
right = read_right(learner.net, *load("test"))
print(f"{100 * right:.1f} % of the test images right")
trainer.save_checkpoint("digits.ckpt")
sys.exit(right < 0.9)
