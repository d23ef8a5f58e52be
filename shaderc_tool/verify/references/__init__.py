"""NumPy references of the five quantized formats: encoder, decoder and the operations that the kernels perform.

Encoders compute in float32, in the order of the production quantizer, so that their bytes are its bytes. Decoders,
scores and products compute in float64: they are what the kernels are measured against.
"""
