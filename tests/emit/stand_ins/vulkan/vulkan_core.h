/* Stand-in for tests: the part of vulkan_core.h that the loader uses. */
#pragma once
#include <stdint.h>
#include <stddef.h>
typedef struct VkDevice_T *VkDevice;
typedef struct VkShaderModule_T *VkShaderModule;
typedef enum { VK_SUCCESS = 0, VK_ERROR_INITIALIZATION_FAILED = -3 } VkResult;
typedef enum { VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO = 16 } VkStructureType;
typedef struct {
    VkStructureType sType; const void *pNext; uint32_t flags; size_t codeSize; const uint32_t *pCode;
} VkShaderModuleCreateInfo;
typedef struct VkAllocationCallbacks VkAllocationCallbacks;
typedef VkResult (*PFN_vkCreateShaderModule)(VkDevice, const VkShaderModuleCreateInfo *,
                                             const VkAllocationCallbacks *, VkShaderModule *);
