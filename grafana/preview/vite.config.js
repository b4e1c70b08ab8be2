export default {
  base: './',
  define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis' },
  esbuild: { jsx: 'automatic' },
  build: { minify: false, chunkSizeWarningLimit: 100000, rollupOptions: { shimMissingExports: true } },
};
