"""Files that the package ships: presets and the README of a tree."""
