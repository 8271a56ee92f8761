// set below
