"""Any built Keras model as an artefact: `ModelSignature` is what each format writes."""
