#ifdef __cplusplus
extern "C"
#endif
int memcmp(const void *, const void *, unsigned long);
