"""`python -m shaderc_tool` is the `shaderpack` command."""

from shaderc_tool.entry import main

if __name__ == "__main__":
    main()
