"""python -m modc: the command, and before it what only Python can do."""
import sys

from modc import main

if sys.argv[1:2] == ["export"] and any(word.lower().endswith(".onnx") for word in sys.argv[2:]):
    from modc._onnx.command import main as export
    sys.exit(export(sys.argv[2:]))
main()
