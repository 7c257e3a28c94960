"""What the rivals share.

`learned` is the relevance that they rank by, `groups` the account of exposure by group, `standing` the choice between
groups and single documents, `objective` what Frank-Wolfe rankings climb.
"""
