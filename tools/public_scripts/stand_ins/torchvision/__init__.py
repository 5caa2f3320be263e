"""As much of torchvision as training scripts for MNIST use, with images drawn here."""
