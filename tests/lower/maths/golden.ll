declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)
declare float @llvm.fma.f32(float, float, float)

define internal <8 x double> @cr_exp_f64x8(<8 x double> %x) alwaysinline nounwind {
entry:
  %v1 = fcmp ogt <8 x double> %x, splat (double 0x4086300000000000)
  %v2 = select <8 x i1> %v1, <8 x double> splat (double 0x4086300000000000), <8 x double> %x
  %v3 = fcmp olt <8 x double> %v2, splat (double 0xC087500000000000)
  %v4 = select <8 x i1> %v3, <8 x double> splat (double 0xC087500000000000), <8 x double> %v2
  %v5 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v4, <8 x double> splat (double 0x3FF71547652B82FE), <8 x double> splat (double 0x43380000000003FE))
  %v6 = fsub <8 x double> %v5, splat (double 0x43380000000003FE)
  %v7 = bitcast <8 x double> %v5 to <8 x i64>
  %v8 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v6, <8 x double> splat (double 0xBFE62E42FEFA39EF), <8 x double> %v4)
  %v9 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v6, <8 x double> splat (double 0xBC7ABC9E3B39803F), <8 x double> %v8)
  %v10 = call <8 x double> @llvm.fma.v8f64(<8 x double> splat (double 0x3E6ADD792495350B), <8 x double> %v9, <8 x double> splat (double 0x3EA28AF4A7178B44))
  %v11 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v10, <8 x double> %v9, <8 x double> splat (double 0x3ED71DEEC5A2CE1D))
  %v12 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v11, <8 x double> %v9, <8 x double> splat (double 0x3F0A01997BF16E6F))
  %v13 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v12, <8 x double> %v9, <8 x double> splat (double 0x3F3A01A0144990E8))
  %v14 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v13, <8 x double> %v9, <8 x double> splat (double 0x3F66C16C1852E1D7))
  %v15 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v14, <8 x double> %v9, <8 x double> splat (double 0x3F91111111122B4E))
  %v16 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v15, <8 x double> %v9, <8 x double> splat (double 0x3FB555555555029A))
  %v17 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v16, <8 x double> %v9, <8 x double> splat (double 0x3FD555555555550F))
  %v18 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v17, <8 x double> %v9, <8 x double> splat (double 0x3FF000000000000B))
  %v19 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v18, <8 x double> %v9, <8 x double> splat (double 0x4000000000000000))
  %v20 = call <8 x double> @llvm.fma.v8f64(<8 x double> %v19, <8 x double> %v9, <8 x double> splat (double 0x4000000000000000))
  %v21 = fcmp olt <8 x double> %v6, splat (double 0xC08FE80000000000)
  %v22 = add <8 x i64> %v7, splat (i64 64)
  %v23 = select <8 x i1> %v21, <8 x i64> %v22, <8 x i64> %v7
  %v24 = shl <8 x i64> %v23, splat (i64 52)
  %v25 = bitcast <8 x i64> %v24 to <8 x double>
  %v26 = fmul <8 x double> %v20, %v25
  %v27 = fmul <8 x double> %v26, splat (double 0x3BF0000000000000)
  %v28 = select <8 x i1> %v21, <8 x double> %v27, <8 x double> %v26
  ret <8 x double> %v28
}

define internal float @cr_exp_f32x1(float %x) alwaysinline nounwind {
entry:
  %v1 = fcmp ogt float %x, 0x4056400000000000
  %v2 = select i1 %v1, float 0x4056400000000000, float %x
  %v3 = fcmp olt float %v2, 0xC05A000000000000
  %v4 = select i1 %v3, float 0xC05A000000000000, float %v2
  %v5 = call float @llvm.fma.f32(float %v4, float 0x3FF7154760000000, float 0x4168000FC0000000)
  %v6 = fsub float %v5, 0x4168000FC0000000
  %v7 = bitcast float %v5 to i32
  %v8 = call float @llvm.fma.f32(float %v6, float 0xBFE62E4300000000, float %v4)
  %v9 = call float @llvm.fma.f32(float %v6, float 0x3E205C6100000000, float %v8)
  %v10 = call float @llvm.fma.f32(float 0x3F66851300000000, float %v9, float 0x3F9123BD40000000)
  %v11 = call float @llvm.fma.f32(float %v10, float %v9, float 0x3FB555B980000000)
  %v12 = call float @llvm.fma.f32(float %v11, float %v9, float 0x3FD55548E0000000)
  %v13 = call float @llvm.fma.f32(float %v12, float %v9, float 0x3FEFFFFF80000000)
  %v14 = call float @llvm.fma.f32(float %v13, float %v9, float 0x4000000000000000)
  %v15 = call float @llvm.fma.f32(float %v14, float %v9, float 0x4000000000000000)
  %v16 = fcmp olt float %v6, 0xC05F400000000000
  %v17 = add i32 %v7, 64
  %v18 = select i1 %v16, i32 %v17, i32 %v7
  %v19 = shl i32 %v18, 23
  %v20 = bitcast i32 %v19 to float
  %v21 = fmul float %v15, %v20
  %v22 = fmul float %v21, 0x3BF0000000000000
  %v23 = select i1 %v16, float %v22, float %v21
  ret float %v23
}
