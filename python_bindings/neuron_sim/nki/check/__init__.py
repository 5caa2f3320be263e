"""One verdict on a kernel, for people and for programs that write kernels: `verdict.check`.

Is it legal for the vendor's tools, right, free of what no chip defines, and how fast?
"""
