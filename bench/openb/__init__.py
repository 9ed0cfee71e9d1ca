"""The saturation experiment of the FGD paper (USENIX ATC 2023) on the openb trace, and what follows from it."""
