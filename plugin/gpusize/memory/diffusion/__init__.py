"""Memory of pipelines that make pictures: what is loaded, what each stage adds, and the peak."""
