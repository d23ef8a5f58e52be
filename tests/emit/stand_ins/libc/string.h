#ifdef __cplusplus
extern "C"
#endif
int strcmp(const char *, const char *);
