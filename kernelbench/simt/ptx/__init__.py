"""Reading PTX: text, names, operands, declarations, headers and bodies of functions."""
