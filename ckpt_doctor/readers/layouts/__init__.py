"""What the keys and files of each framework mean."""
