"""Options, checks and limits shared by all parts of the package."""
