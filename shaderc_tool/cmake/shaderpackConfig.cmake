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
#     [SHADER_TARGET <name>]  a target of the manifest; default: vulkan
#     [EMBED]                 take the target's embed bundle, of a Metal target, instead of a C header
#     [SYMBOL <symbol>]       symbol of the embed bundle as in the manifest; default: <pack>_metallib
#     [OUT <folder>]          default: ${CMAKE_CURRENT_BINARY_DIR}/shaders
#     [OPTIONS <option>...])  more options for `shaderpack build`
#
# Builds the manifest's target before <target>, compiles its storage or the assembler text of its embed bundle into
# <target>, and puts the folder of <pack>-shaders.h or <pack>_metal.h on the include path. The storage `incbin` and
# embed bundles need the language ASM, the other storages the language C or CXX.
#
# shaderpack runs in every build: it compares contents, and with nothing to do it ends at once and touches nothing, so
# that neither the shaders nor <target> are built again. What is assembled depends on the payload, too.
function(shaderpack_add_bundle target manifest)
    cmake_parse_arguments(PARSE_ARGV 2 arg "EMBED" "SHADER_TARGET;SYMBOL;OUT" "OPTIONS")
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
    if(arg_EMBED)
        _shaderpack_embed_files("${folder}" "${pack}" "${arg_SYMBOL}" file header payload)
        set(folder "${folder}/embed")
    else()
        set(stem "${folder}/${pack}-shaders")
        _shaderpack_storage_file("${storage}" "${stem}" file)
        set(header "${stem}.h")
        set(payload "")
    endif()

    # Two bundles of one target: one after the other, since both may write to one folder.
    get_target_property(before ${target} SHADERPACK_BUNDLES)
    if(NOT before)
        set(before "")
    endif()
    list(LENGTH before number)
    set(builder "${target}_shaders")
    if(number)
        string(APPEND builder "_${number}")
    endif()
    add_custom_target(${builder}
        COMMAND "${SHADERPACK_EXECUTABLE}" build "${manifest}" --target "${arg_SHADER_TARGET}" --out "${arg_OUT}"
                ${arg_OPTIONS}
        BYPRODUCTS "${file}" "${header}" ${payload}
        COMMENT "shaderpack: ${pack}"
        VERBATIM)
    set_property(TARGET ${target} APPEND PROPERTY SHADERPACK_BUNDLES ${builder})
    add_dependencies(${target} ${builder})
    if(before)
        add_dependencies(${builder} ${before})
    endif()
    set_source_files_properties("${file}" "${header}" ${payload} PROPERTIES GENERATED TRUE)
    if(payload)
        # No compiler lists what .incbin reads.
        set_source_files_properties("${file}" PROPERTIES OBJECT_DEPENDS "${payload}")
    endif()
    target_sources(${target} PRIVATE "${file}")
    target_include_directories(${target} PRIVATE "${folder}")
endfunction()

# Assembler text, header and payload of an embed bundle.
function(_shaderpack_embed_files folder pack symbol file_variable header_variable payload_variable)
    _shaderpack_require_asm("embed bundles are assembled: add ASM to the languages of project()")
    string(REGEX REPLACE "[^A-Za-z0-9_]" "_" name "${pack}")
    if(NOT symbol)
        set(symbol "${name}_metallib")
    endif()
    set(${file_variable} "${folder}/embed/${symbol}.S" PARENT_SCOPE)
    set(${header_variable} "${folder}/embed/${name}_metal.h" PARENT_SCOPE)
    set(${payload_variable} "${folder}/default.metallib" PARENT_SCOPE)
endfunction()

function(_shaderpack_require_asm reason)
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    if(NOT "ASM" IN_LIST languages)
        message(FATAL_ERROR "shaderpack_add_bundle: ${reason}")
    endif()
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
    if(storage STREQUAL "incbin")
        _shaderpack_require_asm("the storage incbin is assembled: add ASM to the languages of project(), or choose \
another storage in the manifest")
        set(suffix S)
    elseif(storage STREQUAL "hex")
        set(suffix cpp)
    else()
        set(suffix c)
    endif()
    set(${variable} "${stem}.${suffix}" PARENT_SCOPE)
endfunction()
