"""python -m modc: the command, and before it what only Python can do."""
from modc import main

main()
