export type TranscodeSpec = { readonly kind: 'image' } | { readonly kind: 'video' }
export function checkSpec(_spec: TranscodeSpec): void {}
