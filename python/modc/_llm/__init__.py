"""modc.LLM: a model that writes, as torchrl wraps them; see llm.py."""
