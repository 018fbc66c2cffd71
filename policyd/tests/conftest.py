"""pytest's importlib mode takes the folder policyd for the module of that name: forget it."""

import sys

sys.modules.pop("policyd", None)
