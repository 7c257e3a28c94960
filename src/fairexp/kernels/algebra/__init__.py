"""What kernels of several rooms use: linear algebra by rows, lanes of numbers, running regressions."""
