"""Why a gradient is what it is, and whether it is right."""
