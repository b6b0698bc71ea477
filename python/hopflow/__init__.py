"""Design, measure and run transports for onion-routing overlays such as Tor."""
