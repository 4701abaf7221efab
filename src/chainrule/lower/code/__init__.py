"""Steps as LLVM instructions."""
