"""The sanitizer: what no chip defines, in kernels (checking) and in operators of PyTorch."""
