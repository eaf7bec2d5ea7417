"""Samplers for map-style data whose position can be saved and put back, one file each."""
