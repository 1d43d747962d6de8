"""The benchmark's own arithmetic; what it measures is no test's business."""
