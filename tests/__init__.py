"""Tests: the folders mirror ckpt_doctor/, and structure/ tests the house itself."""
