"""TensorFlow Lite files to specs."""
