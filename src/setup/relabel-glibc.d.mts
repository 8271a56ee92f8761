export declare function needsRelabel(): boolean
export declare function relabel(file: string): number
