"""MMRB: reasoning over several images, which stand where the question names them."""
