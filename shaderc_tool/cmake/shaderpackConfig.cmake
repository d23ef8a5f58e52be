# find_package(shaderpack) gives shaderpack_add_bundle(). Point shaderpack_DIR at this folder, which
#   python -c "import pathlib, shaderc_tool; print(pathlib.Path(shaderc_tool.__file__).parent / 'cmake')"
# prints. SHADERPACK_EXECUTABLE overrides the program.

find_program(SHADERPACK_EXECUTABLE shaderpack DOC "shaderpack, which builds shader bundles")
set(shaderpack_FOUND TRUE)
if(NOT SHADERPACK_EXECUTABLE)
    set(shaderpack_FOUND FALSE)
    set(shaderpack_NOT_FOUND_MESSAGE "the program shaderpack is not on PATH: pip install 'shaderpack[all]'")
    return()
endif()

# shaderpack_add_bundle(<target> <manifest>
#     [SHADER_TARGET <name>]  the Vulkan target of the manifest; default: vulkan
#     [OUT <folder>]          default: ${CMAKE_CURRENT_BINARY_DIR}/shaders
#     [OPTIONS <option>...])  more options for `shaderpack build`
#
# Builds the manifest's Vulkan target before <target>, compiles its storage into <target>, and puts the folder of
# <pack>-shaders.h on the include path. The storage `incbin` needs the language ASM, the others the language C or CXX.
#
# shaderpack runs in every build: it compares contents, and with nothing to do it ends at once and touches nothing, so
# that neither the storage nor <target> is built again.
function(shaderpack_add_bundle target manifest)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "SHADER_TARGET;OUT" "OPTIONS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "shaderpack_add_bundle: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT arg_SHADER_TARGET)
        set(arg_SHADER_TARGET vulkan)
    endif()
    if(NOT arg_OUT)
        set(arg_OUT "${CMAKE_CURRENT_BINARY_DIR}/shaders")
    endif()
    get_filename_component(manifest "${manifest}" ABSOLUTE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${manifest}")

    _shaderpack_read("${manifest}" pack storage)
    set(folder "${arg_OUT}/${pack}/${arg_SHADER_TARGET}")
    set(stem "${folder}/${pack}-shaders")
    _shaderpack_storage_file("${storage}" "${stem}" file)

    add_custom_target(${target}_shaders
        COMMAND "${SHADERPACK_EXECUTABLE}" build "${manifest}" --target "${arg_SHADER_TARGET}" --out "${arg_OUT}"
                ${arg_OPTIONS}
        BYPRODUCTS "${file}" "${stem}.h"
        COMMENT "shaderpack: ${pack}"
        VERBATIM)
    add_dependencies(${target} ${target}_shaders)
    set_source_files_properties("${file}" "${stem}.h" PROPERTIES GENERATED TRUE)
    target_sources(${target} PRIVATE "${file}")
    target_include_directories(${target} PRIVATE "${folder}")
endfunction()

# The name of the pack and the storage of its C header, as the manifest states them.
function(_shaderpack_read manifest pack_variable storage_variable)
    file(STRINGS "${manifest}" lines REGEX "^pack:")
    string(REGEX REPLACE "^pack:[ \t]*[\"']?([A-Za-z0-9_.-]+).*" "\\1" pack "${lines}")
    if(NOT lines)
        message(FATAL_ERROR "shaderpack_add_bundle: ${manifest} has no top-level key `pack`")
    endif()
    file(STRINGS "${manifest}" lines REGEX "^[^#]*storage:")
    set(storage incbin)
    if(lines MATCHES "storage:[ \t]*[\"']?([a-z]+)")
        set(storage "${CMAKE_MATCH_1}")
    endif()
    set(${pack_variable} "${pack}" PARENT_SCOPE)
    set(${storage_variable} "${storage}" PARENT_SCOPE)
endfunction()

function(_shaderpack_storage_file storage stem variable)
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    if(storage STREQUAL "incbin")
        if(NOT "ASM" IN_LIST languages)
            message(FATAL_ERROR "shaderpack_add_bundle: the storage incbin is assembled: add ASM to the languages of "
                                "project(), or choose another storage in the manifest")
        endif()
        set(suffix S)
    elseif(storage STREQUAL "hex")
        set(suffix cpp)
    else()
        set(suffix c)
    endif()
    set(${variable} "${stem}.${suffix}" PARENT_SCOPE)
endfunction()
