#ifdef __cplusplus
extern "C"
#endif
int snprintf(char *, unsigned long, const char *, ...);
