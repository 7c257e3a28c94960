from fairexp.arrays import Floats, Ints

COUNTING_LIMIT: int

def ndcg_by_query(scores: Floats, grades: Ints, offsets: Ints, gain: Floats, discount: Floats) -> Floats: ...
