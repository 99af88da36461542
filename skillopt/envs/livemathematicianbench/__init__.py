"""LiveMathematicianBench: multiple choice about recent theorems, the options in an order of each batch's own."""
