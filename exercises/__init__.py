"""The exercises of the course: one file a chapter to write in, one grader beside it. Start with: pytest exercises/"""
