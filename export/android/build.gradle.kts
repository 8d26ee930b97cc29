// An application with one module: the files in ../jvm, a model for Android's LiteRT, and a screen.

plugins {
    id("com.android.application") version "8.7.3"
    id("org.jetbrains.kotlin.android") version "2.1.0"
}

android {
    namespace = "translation.android"
    compileSdk = 35
    defaultConfig {
        applicationId = "org.example.translation" // replace this by your own
        minSdk = 24
        targetSdk = 35
        versionCode = 1
        versionName = "1"
    }
    sourceSets["main"].java.srcDir("../jvm")
    androidResources { noCompress += "tflite" } // LiteRT maps the file into memory
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_11
        targetCompatibility = JavaVersion.VERSION_11
    }
    kotlinOptions { jvmTarget = "11" }
}

dependencies {
    implementation("com.google.ai.edge.litert:litert:2.3.0")
}
