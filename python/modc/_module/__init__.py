"""modc.Module: a torch.nn.Module whose forward and backward run in emitted C; see module.py."""
