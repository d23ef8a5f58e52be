/* Stand-in for tests: the part of Foundation that the loader uses, as Apple documents it. */
#pragma once
#define nil ((id)0)
#define YES ((BOOL)1)
#define NO ((BOOL)0)
typedef signed char BOOL;
typedef long NSInteger;
typedef unsigned long NSUInteger;
#ifndef NULL
#define NULL ((void *)0)
#endif
__attribute__((objc_root_class)) @interface NSObject
+ (instancetype)alloc;
- (instancetype)init;
@end
typedef struct {
    unsigned long state;
    id __unsafe_unretained *itemsPtr;
    unsigned long *mutationsPtr;
    unsigned long extra[5];
} NSFastEnumerationState;
typedef struct _NSZone NSZone;
@protocol NSCopying - (id)copyWithZone:(NSZone *)zone; @end
@interface NSString : NSObject <NSCopying>
- (instancetype)initWithBytes:(const void *)bytes length:(NSUInteger)length encoding:(NSUInteger)encoding;
- (NSString *)stringByAppendingString:(NSString *)text;
@end
extern void *__CFConstantStringClassReference[];
enum { NSUTF8StringEncoding = 4 };
@interface NSArray<T> : NSObject
+ (instancetype)arrayWithObjects:(const T _Nonnull [])objects count:(NSUInteger)count;
- (NSString *)componentsJoinedByString:(NSString *)text;
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
                                  objects:(id __unsafe_unretained[])buffer
                                    count:(NSUInteger)count;
@property (readonly) NSUInteger count;
@end
@interface NSMutableArray<T> : NSArray<T>
+ (instancetype)array;
- (void)addObject:(T)object;
@end
@interface NSSet<T> : NSObject
+ (instancetype)setWithArray:(NSArray<T> *)array;
- (BOOL)containsObject:(T)object;
@end
@interface NSDictionary<K, V> : NSObject
+ (instancetype)dictionaryWithObjects:(const V _Nonnull[])objects
                              forKeys:(const K _Nonnull[])keys
                                count:(NSUInteger)count;
@end
@interface NSMutableDictionary<K, V> : NSDictionary<K, V>
+ (instancetype)dictionary;
- (void)setObject:(V)object forKeyedSubscript:(K)key;
@end
@interface NSError : NSObject
+ (instancetype)errorWithDomain:(NSString *)domain code:(NSInteger)code userInfo:(NSDictionary *)info;
@end
extern NSString *const NSLocalizedDescriptionKey;
