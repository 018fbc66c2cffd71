# How long, and how often, a backend may be kept busy. Included inside a backend { }.

.connect_timeout = 1s;          # next door: an answer within a millisecond, or none
.first_byte_timeout = 15s;      # room for a sentence to be spoken into an mp3
.between_bytes_timeout = 15s;
.max_connections = 200;         # one Twisted process: more at once would only wait inside it instead of out here
