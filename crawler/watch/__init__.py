"""What does the log say?"""
