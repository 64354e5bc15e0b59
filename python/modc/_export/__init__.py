"""A torch.nn.Module as a spec; see trace.py for how it is read and write.py for how it is written."""
