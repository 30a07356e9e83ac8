"""What can be said of a schedule without training: is it valid, what does it cost, what does it look like."""
