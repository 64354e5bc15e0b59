"""modc.export_onnx: a spec and its weights from an ONNX file."""
