/* Stand-in for tests: the part of Metal and of dispatch that the loader uses, as Apple documents it. */
#pragma once
#import <Foundation/Foundation.h>
typedef NSObject *dispatch_data_t;
typedef void (^dispatch_block_t)(void);
dispatch_data_t dispatch_data_create(const void *, unsigned long, void *, dispatch_block_t);
typedef enum { MTLLanguageVersion3_1 = 196609 } MTLLanguageVersion;
@interface MTLCompileOptions : NSObject
@property MTLLanguageVersion languageVersion;
@property BOOL fastMathEnabled __attribute__((deprecated));
@property NSDictionary<NSString *, NSObject *> *preprocessorMacros;
@end
@protocol MTLFunction @end
@protocol MTLLibrary
@property (readonly) NSArray<NSString *> *functionNames;
- (id<MTLFunction>)newFunctionWithName:(NSString *)name;
@end
@protocol MTLDevice
- (id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError **)error;
- (id<MTLLibrary>)newLibraryWithSource:(NSString *)text options:(MTLCompileOptions *)options error:(NSError **)error;
@end
