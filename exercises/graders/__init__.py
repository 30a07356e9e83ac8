"""Graders of the chapters with many exercises, a folder a chapter, a module a level; test_chNN_topic.py lists them."""
