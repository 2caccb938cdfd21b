"""How the runtimes are made, fetched and put in their place: for the install, not for users."""
