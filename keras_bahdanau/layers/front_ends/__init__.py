"""Front ends: from the features of a source to vectors and their mask."""
