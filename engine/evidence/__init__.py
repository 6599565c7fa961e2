"""From bytes and words to facts: readers, detectors, signatures, text and the normaliser; knows no causes."""
